"""Writes datasets.json.gz: what the released harnesses draw for the datasets
that the golden data do not hold.

    python make_datasets.py VLLM SGLANG

VLLM and SGLANG are folders into which the wheels vllm 0.33.0 and sglang 0.5.23
were unpacked (vllm/benchmarks/datasets/*.py, sglang/benchmark/**/*.py). Their
own functions are run, with stubs for everything that they import and do not
use here, and a tokenizer that splits at spaces. Needs numpy, pandas, Pillow,
pybase64, requests, tqdm, typing_extensions. Made with Python 3.11.7, numpy
2.4.6.
"""
import gzip
import hashlib
import json
import pathlib
import random
import sys
import tempfile
import types
from unittest import mock

import numpy as np


def stub(name, **members):
    module = mock.MagicMock(name=name)
    module.__spec__ = None
    module.__path__ = []
    for key, value in members.items():
        setattr(module, key, value)
    sys.modules[name] = module


def package(name, path):
    module = types.ModuleType(name)
    module.__path__ = [str(path)]
    sys.modules[name] = module


class Tokenizer:
    """Ids in decimal with spaces between them; any other piece is id 0."""

    bos_token = "<s>"

    def __init__(self, vocab_size, around=0, kind="identity", special=()):
        self.vocab_size, self.around, self.kind = vocab_size, around, kind
        self.all_special_ids = list(special)

    def num_special_tokens_to_add(self):
        return self.around

    def get_vocab(self):
        ids = list(range(self.vocab_size))
        random.Random(99).shuffle(ids)
        return {f"t{i}": i for i in ids}

    def encode(self, text, add_special_tokens=True):
        ids = [1] * self.around if add_special_tokens else []
        for piece in text.split(" "):
            if piece:
                ids.append(int(piece) if piece.isascii() and piece.isdigit() else 0)
        return ids

    def __call__(self, text):
        return types.SimpleNamespace(input_ids=self.encode(text))

    def decode(self, ids):
        out = []
        for i in ids:
            if self.kind == "drop7" and i % 7 == 0:
                continue
            out.append(str(i))
            if self.kind == "split5" and i % 5 == 0:
                out.append(str((i + 1) % self.vocab_size))
        return " ".join(out)

    def apply_chat_template(self, messages, **_):
        return "<s>[user] " + messages[0]["content"] + " [assistant] "


def row(r, request_id=None, prompt_len=None, output_len=None):
    prompt = r.prompt
    ids = isinstance(prompt, list) and prompt and isinstance(prompt[0], int)
    text = " ".join(map(str, prompt)) if ids else "\n".join(prompt) if isinstance(prompt, list) else prompt
    return {
        "request_id": request_id or "", "prompt_len": r.prompt_len, "output_len": int(output_len),
        "prompt_is_ids": bool(ids), "prompt_head": text[:60],
        "prompt_sha256": hashlib.sha256(text.encode()).hexdigest(),
    }


def finish(case, rows):
    case["rows"] = rows
    case["next_uniform"] = np.random.random_sample()
    case["next_python"] = random.random()
    return case


def words(r, n):
    some = [r.choice(["a", "bb", "été", "12", "0", "x,y", "🙂"]) for _ in range(min(n, 30))]
    return " ".join(some[i % 30] for i in range(n))


def conversations(seed, n):
    """ShareGPT rows: both spellings, one turn, empty turns, long and short ones."""
    r = random.Random(seed)
    out = []
    for i in range(n):
        turns = [{"from": "human", "value": words(r, r.choice([0, 1, 3, 4, 20, 200, 1024, 1030]))}]
        if r.random() < 0.9:
            turns.append({"from": "gpt", "value": words(r, r.choice([0, 1, 2, 4, 50, 900, 1100]))})
        if r.random() < 0.2:
            turns.append({"from": "human", "value": "more"})
        out.append({"id": str(i), ("conversation" if r.random() < 0.2 else "conversations"): turns})
    return out


def vllm_cases(folder):
    for name in ("vllm", "vllm.benchmarks", "vllm.benchmarks.datasets"):
        package(name, pathlib.Path(folder, *name.split(".")))
    for name in ("inputs", "lora", "lora.request", "lora.utils", "multimodal", "multimodal.audio", "multimodal.image", "multimodal.utils",
                 "tokenizers", "transformers_utils", "transformers_utils.repo_utils", "utils", "utils.argparse_utils",
                 "utils.import_utils", "utils.mistral"):
        stub("vllm." + name)
    stub("datasets"), stub("soundfile")
    from vllm.benchmarks.datasets import datasets as ds

    out = []

    def seeded(seed):
        random.seed(seed)
        np.random.seed(seed)

    def vrow(r):
        return row(r, r.request_id, output_len=r.expected_output_len)

    with tempfile.TemporaryDirectory() as tmp:
        path = pathlib.Path(tmp, "data.json")
        for seed, n, fixed, around, shuffle, over in (
                (0, 12, None, 0, True, True), (7, 25, None, 1, True, True), (3, 500, None, 2, True, True),
                (3, 500, None, 0, True, False), (1, 30, 3, 1, True, True), (1, 30, 700, 0, False, True)):
            data = conversations(seed, 120)
            path.write_text(json.dumps(data), encoding="utf-8")
            seeded(seed + 1000)
            d = ds.ShareGPTDataset(dataset_path=str(path), random_seed=seed, disable_shuffle=not shuffle)
            rows = d.sample(Tokenizer(1000, around), n, request_id_prefix="bench-x-", no_oversample=not over, output_len=fixed)
            out.append(finish({"dataset": "vllm-sharegpt", "seed": seed, "stream_seed": seed + 1000, "n": n, "output_len": fixed or 0,
                               "around": around, "no_shuffle": not shuffle, "oversample": over, "file": json.dumps(data)},
                              [vrow(r) for r in rows]))
        path = pathlib.Path(tmp, "data.jsonl")
        for seed, n, fixed, template, over in ((0, 5, 256, False, True), (2, 40, -1, True, True), (2, 40, 16, False, False), (9, 0, 8, True, True)):
            r = random.Random(seed)
            lines = "".join(json.dumps({"prompt": words(r, r.randint(1, 30)) + " q", "output_tokens": r.randint(1, 99)}) + "\n" for _ in range(17))
            path.write_text(lines, encoding="utf-8")
            seeded(seed + 1000)
            d = ds.CustomDataset(dataset_path=str(path), random_seed=seed)
            rows = d.sample(Tokenizer(1000, 1), n, request_id_prefix="c", no_oversample=not over, output_len=fixed, skip_chat_template=not template)
            out.append(finish({"dataset": "vllm-custom", "seed": seed, "stream_seed": seed + 1000, "n": n, "output_len": fixed, "around": 1,
                               "template": template, "oversample": over, "file": lines}, [vrow(r) for r in rows]))
        path = pathlib.Path(tmp, "burst.csv")
        for seed, n in ((0, 10), (5, 200)):
            r = random.Random(seed)
            lines = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
            for i in range(90):
                q, a = r.randint(1, 40), r.choice([0, 0, r.randint(1, 300)])
                lines += f"{i},{r.choice(['ChatGPT', 'GPT-4'])},{q},{a},{q + a},Conversation log\n"
            path.write_text(lines)
            seeded(seed + 1000)
            d = ds.BurstGPTDataset(dataset_path=str(path), random_seed=seed)
            rows = d.sample(Tokenizer(25), n, request_id_prefix="b")
            out.append(finish({"dataset": "vllm-burstgpt", "seed": seed, "stream_seed": seed + 1000, "n": n, "vocab": 25, "file": lines},
                              [vrow(r) for r in rows]))
    for seed, n, groups, prefix, suffix, vocab, kind, shuffle in (
            (0, 20, 4, 16, 8, 32000, "identity", True), (5, 23, 5, 9, 4, 128256, "drop7", True), (6, 6, 6, 3, 5, 4096, "split5", False)):
        seeded(seed + 1000)
        d = ds.PrefixRepetitionRandomDataset(random_seed=seed, disable_shuffle=not shuffle)
        rows = d.sample(Tokenizer(vocab, 0, kind), n, prefix_len=prefix, suffix_len=suffix, num_prefixes=groups, output_len=11)
        out.append(finish({"dataset": "vllm-prefix-repetition", "seed": seed, "stream_seed": seed + 1000, "n": n, "groups": groups,
                           "prefix_len": prefix, "suffix_len": suffix, "vocab": vocab, "tokenizer": kind, "no_shuffle": not shuffle,
                           "output_len": 11}, [vrow(r) for r in rows]))
    return out


def sglang_cases(folder):
    for name in ("sglang", "sglang.benchmark", "sglang.benchmark.datasets"):
        package(name, pathlib.Path(folder, *name.split(".")))
    stub("transformers")
    from sglang.benchmark.datasets import custom, generated_shared_prefix as gsp, sharegpt

    out = []

    def seeded(seed):
        random.seed(seed)
        np.random.seed(seed)

    def srow(r):
        return row(r, output_len=r.output_len)

    with tempfile.TemporaryDirectory() as tmp:
        path = pathlib.Path(tmp, "data.json")
        for seed, n, fixed, context, suffix, template, around in (
                (42, 20, None, None, "", False, 1), (42, 500, None, 800, "", False, 0), (3, 30, 64, None, " end ", True, 1)):
            data = conversations(seed, 100)
            path.write_text(json.dumps(data), encoding="utf-8")
            seeded(seed)
            rows = sharegpt.sample_sharegpt_requests(str(path), n, Tokenizer(1000, around), fixed, context, suffix, template)
            out.append(finish({"dataset": "sglang-sharegpt", "seed": seed, "n": n, "output_len": fixed or 0, "context_len": context or 0,
                               "suffix": suffix, "template": template, "around": around, "file": json.dumps(data)}, [srow(r) for r in rows]))
        path = pathlib.Path(tmp, "data.jsonl")
        for seed, n in ((1, 10), (8, 300)):
            r = random.Random(seed)
            lines = ""
            for i, c in enumerate(conversations(seed, 60)):
                if i % 9 == 0:
                    lines += "{not json\n\n"
                for turn in next(v for k, v in c.items() if k != "id"):
                    kind = r.random()
                    if kind < 0.4:
                        turn["content"] = turn.pop("value")
                    elif kind < 0.5:
                        del turn["value"]
                    elif kind < 0.6:
                        turn["content"] = "9 8 7"
                lines += json.dumps(c) + "\n"
            path.write_text(lines, encoding="utf-8")
            seeded(seed)
            rows = custom.sample_custom_requests(str(path), n, Tokenizer(1000, 1))
            out.append(finish({"dataset": "sglang-custom", "seed": seed, "n": n, "around": 1, "file": lines}, [srow(r) for r in rows]))
    gsp.Path = mock.MagicMock()
    gsp.Path.home.return_value.__truediv__.return_value.__truediv__.return_value.__truediv__.return_value.__truediv__.return_value.exists.return_value = False
    gsp.pickle = gsp.open = mock.MagicMock()
    for seed, groups, per, system, question, output, ratio, turns, ordered, fast, ids, alpha in (
            (42, 4, 5, 30, 6, 9, 1.0, 1, False, False, False, None), (1, 3, 7, 40, 10, 12, 0.25, 1, False, False, False, None),
            (2, 3, 4, 12, 5, 6, 0.0, 3, False, True, False, None), (3, 5, 6, 20, 5, 7, 0.5, 1, True, False, True, None),
            (4, 9, 6, 15, 4, 5, 1.0, 1, False, False, False, 1.3), (5, 2, 3, 8, 3, 0, 1.0, 2, True, False, False, 0.7)):
        seeded(seed)
        gsp_tok = Tokenizer(5000, 1)
        rows = gsp.sample_generated_shared_prefix_requests(
            groups, per, system, question, output, ratio, gsp_tok, seed, num_turns=turns, fast_prepare=fast, ordered=ordered,
            group_distribution="uniform" if alpha is None else "zipf", zipf_alpha=alpha, input_ids=ids)
        out.append(finish({"dataset": "sglang-shared-prefix", "seed": seed, "groups": groups, "per_group": per, "system_len": system,
                           "question_len": question, "output_len": output, "ratio": ratio, "turns": turns, "ordered": ordered, "fast": fast,
                           "send_ids": ids, "alpha": alpha or 0, "vocab": 5000, "around": 1}, [srow(r) for r in rows]))
    return out


def sonnet_cases():
    """vLLM 0.33.0 no longer has the dataset: these rows come from its rule, written down anew here."""
    out = []
    r = random.Random(4)
    lines = [words(r, r.randint(4, 12)) + "\n" for _ in range(40)]
    opening = "Pick as many lines as you can from these poem lines:\n"
    for seed, n, length, prefix, around in ((0, 15, 120, 60, 1), (3, 10, 200, 0, 0), (8, 5, 24, 0, 1)):
        tok = Tokenizer(1000, around)
        count = lambda text: len(tok.encode(text))
        chat = lambda text: tok.apply_chat_template([{"content": text}])
        mean = sum(map(count, lines)) / len(lines)
        base = count(chat(opening))
        total = max(round((length - base) / mean), 1)
        shared = max(round((prefix - base) / mean), 0)
        random.seed(seed)
        np.random.seed(seed)
        rows = []
        while len(rows) < n:
            text = opening + "".join(lines[:shared] + random.choices(lines, k=total - shared))
            if count(chat(text)) <= length:
                rows.append(row(types.SimpleNamespace(prompt=text, prompt_len=count(chat(text))), f"s{len(rows)}", output_len=150))
        out.append(finish({"dataset": "vllm-sonnet", "seed": seed, "n": n, "input_len": length, "prefix_len": prefix,
                           "output_len": 150, "around": around, "file": "".join(lines)}, rows))
    return out


def main():
    cases = sonnet_cases() + vllm_cases(sys.argv[1]) + sglang_cases(sys.argv[2])
    text = json.dumps({"numpy": np.__version__, "cases": cases}, separators=(",", ":")).encode()
    path = pathlib.Path(__file__).with_name("datasets.json.gz")
    with open(path, "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        z.write(text)
    print(path.name, len(cases), "cases,", sum(len(c["rows"]) for c in cases), "rows,", path.stat().st_size, "bytes")


main()
