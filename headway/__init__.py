"""The contract of the Headway mesh: time, errors, the wire, and ideas that two services share."""
