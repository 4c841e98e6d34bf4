"""The functions of the public API, which is the package `zombieproof` itself: each says what a command does."""
