"""A real cross-encoder of a few kilobytes whose scores are known beforehand.

It is a BERT of one layer whose weights are set so that it looks at every token alike and sees one thing only: the more
of a text its favourite word is, the better it finds the text, whatever the query. It knows no other word.
"""

from pathlib import Path
from typing import Any, Final

FAVOURITE: Final = "excellent"
POSITIONS: Final = 64
"""Tokens: more than these make the model fail."""
TINY: Final = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": POSITIONS,
}
"""The smallest BERT."""
_SPECIAL: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def save_reranker(folder: Path, *, labels: int = 1, weight: float = 8.0) -> Path:
    """Save the model as its library does, and return its folder.

    Args:
        folder: Where to.
        labels: How many numbers it gives for a text.
        weight: How much it favours its favourite.
    """
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    vocabulary = [*_SPECIAL, FAVOURITE]
    torch.manual_seed(0)
    model: Any = BertForSequenceClassification(BertConfig(vocab_size=len(vocabulary), num_labels=labels, **TINY))
    with torch.no_grad():
        one = torch.eye(32)
        bert = model.bert
        bert.embeddings.position_embeddings.weight.zero_()
        bert.embeddings.token_type_embeddings.weight.zero_()
        bert.embeddings.word_embeddings.weight[:, 0] = 0
        bert.embeddings.word_embeddings.weight[vocabulary.index(FAVOURITE)] = one[0]
        (layer,) = bert.encoder.layer
        attention = layer.attention
        for each in (attention.self.query, attention.self.key, layer.output.dense):
            each.weight.zero_()
        for each in (attention.self.value, attention.output.dense, bert.pooler.dense):
            each.weight.copy_(one)
        model.classifier.weight.zero_()
        model.classifier.weight[:, 0] = weight
    model.save_pretrained(folder)
    make_tokenizer(vocabulary).save_pretrained(folder)
    return folder


def make_tokenizer(vocabulary: list[str]) -> Any:
    """Return a tokenizer of whole words, of which the first five are special."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    numbers = {token: number for number, token in enumerate(vocabulary)}
    tokenizer: Any = Tokenizer(WordPiece(numbers, unk_token="[UNK]"))  # noqa: S106 - no password
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, numbers[token]) for token in ("[CLS]", "[SEP]")],
    )
    names = ("pad", "unk", "cls", "sep", "mask")
    tokens = {f"{name}_token": token for name, token in zip(names, _SPECIAL, strict=True)}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **tokens)
