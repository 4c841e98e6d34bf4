"""The group coordinator of a broker: groups, members and offsets."""
