"""What somebody outside is told of an execution: their events, and how they follow from its log."""
