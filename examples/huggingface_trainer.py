"""Hugging Face: a small BERT reads COMPAS records as text and misses both groups equally often.

The model is built from scratch, so nothing is downloaded; with a pretrained one, only `model` and the tokens change.
"""

import tempfile

import pandas as pd
import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, TrainingArguments, set_seed

from fairalm import EqualOpportunity, PIControl, Unconstrained
from fairalm.datasets import load_compas, split
from fairalm.measures import measure_all
from fairalm.nn import ConstrainedLoss
from fairalm.nn.huggingface import ConstrainedTrainer

data = load_compas()
X = data.features_frame(with_protected=True)
train, test = split(data.y, data.groups, random_state=0)
groups = (data.groups == "Caucasian").to_numpy(dtype=int)

# one word per column: its name and its value, numbers cut into five ranges
numeric = X.select_dtypes("number").columns
words = X.assign(**{name: pd.qcut(X[name], 5, duplicates="drop") for name in numeric})
tokens = pd.concat([name + "=" + words[name].astype(str) for name in words], axis=1)
vocabulary = {word: i for i, word in enumerate(sorted(set(tokens.to_numpy().ravel())))}
ids = tokens.map(vocabulary.get).to_numpy()


def to_rows(index):
    """Rows as the Trainer takes them: `group` stands beside the label."""
    return [{"input_ids": ids[i], "label": int(data.y[i]), "group": int(groups[i])} for i in index]


for name, method in (("plain", Unconstrained()), ("fair", PIControl())):
    set_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        hidden_dropout_prob=0.0,
        num_labels=2,
    )
    loss = nn.CrossEntropyLoss(reduction="none")
    criterion = ConstrainedLoss(loss, EqualOpportunity(), method, n_groups=2)
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            folder,
            num_train_epochs=8,
            per_device_train_batch_size=128,
            learning_rate=0.003,
            save_strategy="no",
            report_to="none",
            use_cpu=not torch.cuda.is_available(),
            disable_tqdm=True,
        )
        trainer = ConstrainedTrainer(
            BertForSequenceClassification(config), settings, train_dataset=to_rows(train), criterion=criterion
        )
        trainer.train()
        predicted = trainer.predict(to_rows(test)).predictions.argmax(axis=1)
    measures = measure_all(data.y[test], predicted, sensitive_features=data.groups.iloc[test])
    print(f"{name:6} error {measures['error']}   DEO {measures['deo']}")
