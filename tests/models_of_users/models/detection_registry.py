"""A model built from nested config dicts by a registry, with anchors, mixins, class-level caches and a test-time augmentation loop."""
import inspect
from abc import ABCMeta, abstractmethod
import torch
import torch.nn as nn
import torch.nn.functional as F

class Registry:
    def __init__(self, name):
        self.name, self.modules = name, {}
    def register(self, cls=None, name=None):
        if cls is None:
            return lambda c: self.register(c, name)
        self.modules[name or cls.__name__] = cls
        return cls
    def build(self, cfg, **default):
        args = {**default, **cfg}
        kind = args.pop("type")
        return self.modules[kind](**args)

MODELS, HOOKS = Registry("models"), Registry("hooks")

class BaseHead(nn.Module, metaclass=ABCMeta):
    @abstractmethod
    def predict(self, x): ...
    def forward(self, x):
        return self.predict(x)

class ScoreMixin:
    score_fn = staticmethod(torch.sigmoid)
    def score(self, logits):
        return self.score_fn(logits)

@MODELS.register
class PlainHead(ScoreMixin, BaseHead):
    def __init__(self, c, n):
        super().__init__()
        self.fc = nn.Linear(c, n)
    def predict(self, x):
        return self.score(self.fc(x))

@MODELS.register(name="cascade")
class CascadeHead(BaseHead):
    def __init__(self, c, stages):
        super().__init__()
        self.stages = nn.ModuleList([MODELS.build(s, c=c) for s in stages])
        self.accept = [s.get("accept", 0.7) for s in [dict(accept=0.6), dict(accept=0.65), {}]][: len(stages)]
    def predict(self, x):
        total = None
        for i, (stage, thr) in enumerate(zip(self.stages, self.accept), start=1):
            p = stage(x)
            total = p if total is None else total + p
            if (total / i).max() > thr:
                break
        return total / i

@MODELS.register
class Backbone(nn.Module):
    arch = {10: (1, 1), 18: (2, 2)}
    def __init__(self, depth=10, base=4, norm_cfg=dict(type="BN")):
        super().__init__()
        layers, c = [], 3
        for i, n in enumerate(self.arch[depth]):
            out = base * 2 ** i
            for j in range(n):
                layers.append((f"layer{i}_{j}", nn.Conv2d(c, out, 3, 2 if j == 0 else 1, 1)))
                if norm_cfg is not None:
                    layers.append((f"norm{i}_{j}", {"BN": nn.BatchNorm2d, "IN": nn.InstanceNorm2d}[norm_cfg["type"]](out)))
                c = out
        self.names = [n for n, _ in layers]
        for n, m in layers:
            setattr(self, n, m)
        self.out_channels = c
    def forward(self, x):
        for n in self.names:
            m = getattr(self, n)
            x = m(x)
            if n.startswith("norm"):
                x = F.relu(x, inplace=True)
        return x.flatten(2).mean(-1)

@HOOKS.register
class Flip:
    def __call__(self, x):
        return x.flip(-1)
    def undo(self, y):
        return y.flip(-1)

@HOOKS.register
class Scale:
    def __init__(self, by):
        self.by = by
    def __call__(self, x):
        return F.interpolate(x, scale_factor=self.by, mode="bilinear", align_corners=False, recompute_scale_factor=True)
    def undo(self, y):
        return y

class Detector(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.backbone = MODELS.build(cfg["backbone"])
        self.head = MODELS.build(cfg["head"], c=self.backbone.out_channels)
        self.tta = [HOOKS.build(h) for h in cfg.get("tta", ())]
        self.cfg = cfg
    def forward(self, x, tta: bool = True):
        assert x.ndim == 4 and x.size(1) == 3, f"images expected, got {tuple(x.shape)}"
        preds = [self.head(self.backbone(x))]
        used = ["none"]
        for hook in self.tta if tta else ():
            if preds[-1].max() > self.cfg.get("sure", 0.75):
                break
            preds.append(hook.undo(self.head(self.backbone(hook(x)))))
            used.append(type(hook).__name__)
        p = torch.stack(preds).mean(0)
        agree = all((q.argmax(-1) == preds[0].argmax(-1)).all() for q in preds[1:])
        return p, used, agree, len(inspect.signature(CascadeHead.__init__).parameters)

CFG = dict(
    backbone=dict(type="Backbone", depth=18, norm_cfg=dict(type="IN")),
    head=dict(type="cascade", stages=[dict(type="PlainHead", n=5)] * 2 + [dict(type="PlainHead", n=5)]),
    tta=[dict(type="Flip"), dict(type="Scale", by=1.5), dict(type="Scale", by=0.5)],
    sure=0.62,
)

def make_model():
    torch.manual_seed(2)
    return Detector(CFG).eval()

def make_inputs():
    g = torch.Generator().manual_seed(0)
    i = lambda b, h, w, s=1.0: torch.randn(b, 3, h, w, generator=g) * s
    return [(i(1, 16, 16),), (i(2, 12, 20, 4.0),), (i(1, 16, 12), False), (i(1, 8, 8, 0.01),), (torch.randn(3, 8, 8, generator=g),)]
