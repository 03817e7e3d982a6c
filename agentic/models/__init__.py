"""Language models behind one port.

router      which adapter a model's name goes to
anthropic, litellm, scripted   the adapters
requests, answers, providers   what they share
"""
