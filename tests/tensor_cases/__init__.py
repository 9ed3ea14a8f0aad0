"""Operations on tensors over edge values."""
