//! Tramline puts AI agents on tracks.
