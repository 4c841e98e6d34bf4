"""The checkpoint of a consumer that buffers: from where it goes on, and what it had delivered before.

    reaches(position, partly, delivered_to, partly_before)  -> o2, and the third number
    starts_at(o2, first_held, rules)                        -> o1
    was_delivered(offset, o2)                               a plain message, or the control record of a transaction
    delivered_up_to(control, o2, third)                     -> its last record that was

The checker's readers and the live consumer (``read_committed_buffering``) go by the same.
Source: reference §10.8.
"""

from zombieproof.model.proposal2014.reading import Reached, delivered_up_to, reaches, starts_at, was_delivered

__all__ = ["Reached", "delivered_up_to", "reaches", "starts_at", "was_delivered"]
