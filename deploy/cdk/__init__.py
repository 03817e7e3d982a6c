"""The AWS side as a template, kept beside this file: made by `make template`, deployed without the CDK and its bootstrap."""
