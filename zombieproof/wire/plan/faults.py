"""What can be wrong with a plan at the cluster where it is played."""


class CouldNot(Exception):
    """A fault whose turn it is cannot be carried out; the message says why."""
