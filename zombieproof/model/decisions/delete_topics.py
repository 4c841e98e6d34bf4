"""DeleteTopics (API key 20, versions 1-6): a topic goes, with its logs and with the offsets of groups in it.

Behaviour: where ``delete.topic.enable`` is off no topic goes; one that is named twice does not go; there has to be one
(asked for by name, or by id), and whoever asks has to have the right: who names a topic that it may not know of is not
told whether there is one; and the internal ones stay. Kafka's controller would let those go as well, and its tool
refuses: here nobody is to lose every transaction and every group by one request.
Source: ``ControllerApis.deleteTopics``, ``ReplicationControlManager.deleteTopics``, ``TopicCommand``; KIP-516.
"""

from zombieproof.model.decisions.fetch import error_of_topic
from zombieproof.model.vocabulary import Error


def error_of_topic_deletion(
    is_enabled: bool,
    is_named_twice: bool,
    exists: bool,
    by_id: bool,
    is_internal: bool,
    may_describe: bool = True,
    may_delete: bool = True,
) -> int:
    """The error that one topic of the request is answered with, or NONE: it is gone."""
    if not is_enabled:
        return int(Error.TOPIC_DELETION_DISABLED)
    if is_named_twice:
        return int(Error.INVALID_REQUEST)
    if not by_id and not may_describe:
        return int(Error.TOPIC_AUTHORIZATION_FAILED)
    error = error_of_topic(exists, by_id)
    if error != Error.NONE:
        return error
    if not may_delete:
        return int(Error.TOPIC_AUTHORIZATION_FAILED)
    return int(Error.INVALID_TOPIC_EXCEPTION if is_internal else Error.NONE)
