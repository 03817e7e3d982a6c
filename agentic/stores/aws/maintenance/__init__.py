"""What is done to a store on AWS beside the bot."""
