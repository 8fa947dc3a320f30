// Nothing but the carrier of the precompiled header.
