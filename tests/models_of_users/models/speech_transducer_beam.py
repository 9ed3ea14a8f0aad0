"""Speech: transducer beam search with hypotheses as dataclasses, merged by label sequence, with LM fusion."""
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import nn


@dataclass
class Hypothesis:
    score: float
    yseq: List[int]
    dec_state: Tuple[torch.Tensor, torch.Tensor]
    lm_state: Optional[torch.Tensor] = None
    lm_scores: Optional[torch.Tensor] = None
    timesteps: List[int] = field(default_factory=list)


def is_prefix(x: List[int], pref: List[int]) -> bool:
    if len(pref) >= len(x):
        return False
    for i in range(len(pref)):
        if pref[i] != x[i]:
            return False
    return True


def recombine_hyps(hyps: List[Hypothesis]) -> List[Hypothesis]:
    final: List[Hypothesis] = []
    for hyp in hyps:
        seq_final = [f.yseq for f in final if f.yseq]
        if hyp.yseq in seq_final:
            pos = seq_final.index(hyp.yseq)
            final[pos].score = float(torch.logaddexp(torch.tensor(final[pos].score), torch.tensor(hyp.score)))
        else:
            final.append(hyp)
    return final


class Decoder(nn.Module):
    def __init__(self, vocab, dim, blank=0):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=blank)
        self.rnn = nn.LSTMCell(dim, dim)
        self.blank_id = blank
        self.dunits = dim
        self.score_cache: Dict[str, Any] = {}

    def init_state(self, batch_size):
        return (torch.zeros(batch_size, self.dunits), torch.zeros(batch_size, self.dunits))

    def score(self, hyp: Hypothesis, cache):
        str_labels = "_".join(map(str, hyp.yseq))
        if str_labels in cache:
            dec_out, dec_state = cache[str_labels]
        else:
            label = torch.full((1,), hyp.yseq[-1], dtype=torch.long)
            h, c = self.rnn(self.embed(label), hyp.dec_state)
            dec_out, dec_state = h, (h, c)
            cache[str_labels] = (dec_out, dec_state)
        return dec_out[0], dec_state


class TinyLM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, vocab)

    def score(self, token, state):
        if state is None:
            state = torch.zeros(1, self.cell.hidden_size)
        state = self.cell(self.embed(torch.tensor([token])), state)
        return torch.log_softmax(self.out(state), dim=-1)[0], state


class BeamSearchTransducer(nn.Module):
    def __init__(self, vocab=9, dim=12, n_feat=5, beam_size=3, search_type="default", lm_weight=0.3, score_norm=True):
        super().__init__()
        self.encoder = nn.GRU(n_feat, dim, batch_first=True)
        self.decoder = Decoder(vocab, dim)
        self.joint = nn.Linear(dim, vocab)
        self.lm = TinyLM(vocab, dim) if lm_weight > 0 else None
        self.lm_weight = lm_weight
        self.beam_size = min(beam_size, vocab - 1)
        self.blank_id = 0
        self.score_norm = score_norm
        self.max_expansions = 6
        algorithms = {"default": self.default_beam_search, "greedy": self.greedy_search}
        if search_type not in algorithms:
            raise NotImplementedError(search_type)
        self.search_type = search_type

    def sort_nbest(self, hyps: List[Hypothesis]) -> List[Hypothesis]:
        if self.score_norm:
            hyps.sort(key=lambda x: x.score / len(x.yseq), reverse=True)
        else:
            hyps.sort(key=lambda x: x.score, reverse=True)
        return hyps

    def greedy_search(self, enc_out: torch.Tensor) -> List[Hypothesis]:
        hyp = Hypothesis(score=0.0, yseq=[self.blank_id], dec_state=self.decoder.init_state(1))
        cache: Dict[str, Any] = {}
        dec_out, state = self.decoder.score(hyp, cache)
        for t, enc in enumerate(enc_out):
            logp = torch.log_softmax(self.joint(torch.tanh(enc + dec_out)), dim=-1)
            top, pred = torch.max(logp, dim=-1)
            if pred != self.blank_id:
                hyp.yseq.append(int(pred))
                hyp.timesteps.append(t)
                hyp.score += float(top)
                hyp.dec_state = state
                dec_out, state = self.decoder.score(hyp, cache)
        return [hyp]

    def default_beam_search(self, enc_out: torch.Tensor) -> List[Hypothesis]:
        kept = [Hypothesis(score=0.0, yseq=[self.blank_id], dec_state=self.decoder.init_state(1))]
        cache: Dict[str, Any] = {}
        for t in range(enc_out.size(0)):
            hyps = kept
            kept = []
            expansions = 0
            while True:
                max_hyp = max(hyps, key=lambda x: x.score)
                hyps.remove(max_hyp)
                dec_out, state = self.decoder.score(max_hyp, cache)
                logp = torch.log_softmax(self.joint(torch.tanh(enc_out[t] + dec_out)), dim=-1)
                top_k = logp[1:].topk(self.beam_size, dim=-1)
                kept.append(replace(max_hyp, score=max_hyp.score + float(logp[0:1]), yseq=max_hyp.yseq[:]))
                lm_scores, lm_state = None, None
                if self.lm is not None:
                    lm_scores, lm_state = self.lm.score(max_hyp.yseq[-1], max_hyp.lm_state)
                for logp_k, k in zip(*top_k):
                    score = max_hyp.score + float(logp_k)
                    if lm_scores is not None:
                        score += self.lm_weight * float(lm_scores[k + 1])
                    hyps.append(
                        Hypothesis(
                            score=score,
                            yseq=max_hyp.yseq[:] + [int(k + 1)],
                            dec_state=state,
                            lm_state=lm_state,
                            timesteps=max_hyp.timesteps + [t],
                        )
                    )
                expansions += 1
                hyps_max = float(max(hyps, key=lambda x: x.score).score)
                kept_most_prob = sorted([hyp for hyp in kept if hyp.score > hyps_max], key=lambda x: x.score)
                if len(kept_most_prob) >= self.beam_size:
                    kept = kept_most_prob
                    break
                if expansions >= self.max_expansions:
                    break
            kept = recombine_hyps(kept)
        return self.sort_nbest(kept)

    def forward(self, feats: torch.Tensor, nbest: int = 1):
        enc_out, _ = self.encoder(feats)
        results = []
        for b in range(enc_out.size(0)):
            if self.search_type == "greedy":
                hyps = self.greedy_search(enc_out[b])
            else:
                hyps = self.default_beam_search(enc_out[b])
            results.append([(h.yseq[1:], round(h.score, 4), h.timesteps) for h in hyps[:nbest]])
        prefixes = sum(is_prefix(a[0], b[0]) for r in results for a in r for b in r)
        return results, prefixes


def make_model():
    torch.manual_seed(0)
    m = BeamSearchTransducer()
    with torch.no_grad():
        m.joint.weight.mul_(5)
        m.joint.bias[0] += 0.7
    return m.eval()


def make_inputs():
    ins = []
    for seed, b, t, n in [(0, 1, 4, 1), (1, 2, 3, 3), (2, 1, 1, 2)]:
        ins.append((torch.randn(b, t, 5, generator=torch.Generator().manual_seed(seed)), n))
    return ins
