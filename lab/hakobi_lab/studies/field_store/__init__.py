"""`hakobi study field-store`: what a weather model's output costs, by where it goes and by the store's settings."""
