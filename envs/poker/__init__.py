"""The poker ladder: Kuhn, Leduc, no-limit hold'em and the chip race, on one score axis."""
