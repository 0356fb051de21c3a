from tests.tiny_models import few_scopes, tiny_model, tiny_tokenizer, tokenizer_with_begin

__all__ = ["few_scopes", "tiny_model", "tiny_tokenizer", "tokenizer_with_begin"]
