"""The documented compiler: the steps of the notes as they have them. The policy `documented`."""
