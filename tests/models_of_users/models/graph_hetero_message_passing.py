"""Graphs: a heterogeneous graph network over dicts of edge types, with sampling of neighbours and readout by type."""
import typing
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn
from torch.nn import Parameter

NodeType = str
EdgeType = Tuple[str, str, str]


def scatter(src: Tensor, index: Tensor, dim_size: int, reduce: str = "sum") -> Tensor:
    out = src.new_zeros((dim_size,) + src.shape[1:])
    if reduce in ("sum", "mean"):
        out = out.index_add(0, index, src)
        if reduce == "mean":
            count = src.new_zeros(dim_size).index_add(0, index, torch.ones_like(index, dtype=src.dtype))
            out = out / count.clamp(min=1).unsqueeze(-1)
        return out
    if reduce == "max":
        expanded = index.unsqueeze(-1).expand_as(src)
        return out.scatter_reduce(0, expanded, src, reduce="amax", include_self=False)
    raise ValueError(f"Unknown reduce {reduce!r}")


def degree(index: Tensor, num_nodes: int) -> Tensor:
    return torch.zeros(num_nodes).scatter_add_(0, index, torch.ones(index.numel()))


class MessagePassing(nn.Module):
    aggr: str = "mean"

    def propagate(self, edge_index: Tensor, x: Tuple[Tensor, Tensor], **kwargs) -> Tensor:
        src, dst = edge_index
        msgs = self.message(x[0][src], x[1][dst], **{k: v[src] if k.endswith("_src") else v for k, v in kwargs.items()})
        return scatter(msgs, dst, x[1].size(0), self.aggr)

    def message(self, x_j: Tensor, x_i: Tensor, **kwargs) -> Tensor:
        return x_j


class SAGEConv(MessagePassing):
    def __init__(self, in_dim: int, out_dim: int, aggr: str = "mean"):
        super().__init__()
        self.aggr = aggr
        self.lin_l, self.lin_r = nn.Linear(in_dim, out_dim), nn.Linear(in_dim, out_dim, bias=False)

    def forward(self, x: Tuple[Tensor, Tensor], edge_index: Tensor) -> Tensor:
        return self.lin_l(self.propagate(edge_index, x)) + self.lin_r(x[1])


class GATConv(MessagePassing):
    aggr = "sum"

    def __init__(self, in_dim: int, out_dim: int, slope: float = 0.2):
        super().__init__()
        self.lin = nn.Linear(in_dim, out_dim, bias=False)
        self.att = Parameter(torch.randn(2, out_dim) * 0.3)
        self.slope = slope

    def forward(self, x: Tuple[Tensor, Tensor], edge_index: Tensor) -> Tensor:
        h = (self.lin(x[0]), self.lin(x[1]))
        return self.propagate(edge_index, h, alpha_src=(h[0] * self.att[0]).sum(-1), dst=edge_index[1], n=x[1].size(0))

    def message(self, x_j, x_i, alpha_src, dst, n):
        e = torch.nn.functional.leaky_relu(alpha_src + (x_i * self.att[1]).sum(-1), self.slope)
        top = scatter(e.unsqueeze(-1), dst, n, "max").squeeze(-1)
        w = torch.exp(e - top[dst])
        z = scatter(w.unsqueeze(-1), dst, n).squeeze(-1)
        return x_j * (w / (z[dst] + 1e-9)).unsqueeze(-1)


class HeteroConv(nn.Module):
    def __init__(self, convs: Dict[EdgeType, MessagePassing], aggr: str = "sum"):
        super().__init__()
        self.convs = nn.ModuleDict({"__".join(k): m for k, m in convs.items()})
        self.aggr = aggr

    def forward(self, x_dict: Dict[NodeType, Tensor], edges: Dict[str, Tensor]) -> Dict[NodeType, Tensor]:
        out: Dict[NodeType, List[Tensor]] = {}
        for name, edge_index in edges.items():
            src, _, dst = name.split("__")
            if name not in self.convs or src not in x_dict or dst not in x_dict:
                continue
            if edge_index.numel() == 0:
                continue
            out.setdefault(dst, []).append(self.convs[name]((x_dict[src], x_dict[dst]), edge_index))
        result = {}
        for node_type, xs in out.items():
            stacked = torch.stack(xs, dim=0)
            result[node_type] = stacked.sum(0) if self.aggr == "sum" else getattr(torch, self.aggr)(stacked, dim=0)
        return result


class HeteroNet(nn.Module):
    def __init__(self, metadata: Tuple[List[NodeType], List[EdgeType]], dims: Dict[str, int], hidden: int = 8, layers: int = 2):
        super().__init__()
        self.node_types, edge_types = metadata
        self.project = nn.ModuleDict({t: nn.Linear(dims[t], hidden) for t in self.node_types})
        self.layers = nn.ModuleList()
        for i in range(layers):
            kinds = [SAGEConv, GATConv]
            self.layers.append(HeteroConv({e: kinds[(i + k) % 2](hidden, hidden) for k, e in enumerate(edge_types)}))
        self.readouts = nn.ModuleDict({"user": nn.Linear(hidden, 2), "item": nn.Linear(hidden, 3)})

    def forward(
        self,
        x_dict: Dict[NodeType, Tensor],
        edges: Dict[str, Tensor],
        max_degree: Optional[int] = None,
        targets: typing.Optional[List[str]] = None,
    ):
        h = {k: self.project[k](v).relu() for k, v in x_dict.items()}
        if max_degree is not None:
            limited = {}
            for name, index in edges.items():
                order = torch.argsort(index[1], stable=True)
                index = index[:, order]
                first = torch.searchsorted(index[1], index[1])
                rank = torch.arange(index.size(1)) - first
                limited[name] = index[:, rank < max_degree]
            edges = limited
        for layer in self.layers:
            update = layer(h, edges)
            h = {k: update[k].relu() + v if k in update else v for k, v in h.items()}
        logits = {k: self.readouts[k](v) for k, v in h.items() if k in self.readouts and (targets is None or k in targets)}
        stats = {name: degree(index[1], int(index[1].max()) + 1).max().item() if index.numel() else 0.0 for name, index in edges.items()}
        return logits, stats


def make_model():
    torch.manual_seed(0)
    meta = (["user", "item", "tag"], [("user", "buys", "item"), ("item", "bought_by", "user"), ("tag", "of", "item")])
    return HeteroNet(meta, {"user": 5, "item": 4, "tag": 3}).eval()


def make_inputs():
    g = torch.Generator().manual_seed(0)

    def case(u, i, t, e):
        x = {"user": torch.randn(u, 5, generator=g), "item": torch.randn(i, 4, generator=g), "tag": torch.randn(t, 3, generator=g)}
        r = lambda a, b, n: torch.stack([torch.randint(0, a, (n,), generator=g), torch.randint(0, b, (n,), generator=g)])
        return x, {"user__buys__item": r(u, i, e), "item__bought_by__user": r(i, u, e), "tag__of__item": r(t, i, e // 3), "user__likes__tag": r(u, t, 2)}

    return [case(4, 6, 2, 9), (*case(7, 3, 3, 14), 2), (*case(2, 2, 1, 2), None, ["item"]), (*case(5, 5, 2, 7), 1, [])]
