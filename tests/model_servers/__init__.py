"""Model servers on loopback that speak the real APIs: one misbehaves on purpose, one plays a good model."""
