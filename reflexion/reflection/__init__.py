"""From a failed attempt to a lesson: when, with which evidence, in which words."""
