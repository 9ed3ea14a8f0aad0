"""Bottom-up pose estimation: peaks, limbs scored along part affinity fields, greedy assembly into people."""
import math
from operator import itemgetter
import torch
import torch.nn as nn
import torch.nn.functional as F

LIMBS = [[0, 1], [1, 2], [1, 3], [2, 4]]
PAIRS = [[0, 1], [2, 3], [4, 5], [6, 7]]


def extract_keypoints(heatmap, all_keypoints, total):
    heatmap = heatmap.clone()
    heatmap[heatmap < 0.1] = 0
    padded = F.pad(heatmap[None, None], (2, 2, 2, 2))[0, 0]
    centre = padded[1:-1, 1:-1]
    left, right = padded[1:-1, :-2], padded[1:-1, 2:]
    up, down = padded[:-2, 1:-1], padded[2:, 1:-1]
    peaks = (centre > left) & (centre > right) & (centre > up) & (centre > down)
    peaks = peaks[1:-1, 1:-1]
    ys, xs = torch.where(peaks)
    keypoints = sorted(zip(xs.tolist(), ys.tolist()), key=itemgetter(0))
    suppressed = [False] * len(keypoints)
    found = []
    num = 0
    for i in range(len(keypoints)):
        if suppressed[i]:
            continue
        for j in range(i + 1, len(keypoints)):
            if math.sqrt((keypoints[i][0] - keypoints[j][0]) ** 2 + (keypoints[i][1] - keypoints[j][1]) ** 2) < 2:
                suppressed[j] = True
        x, y = keypoints[i]
        found.append((x, y, heatmap[y, x].item(), total + num))
        num += 1
    all_keypoints.append(found)
    return num


def connections(pafs, a_list, b_list, points=6, min_score=0.05, min_ratio=0.5):
    out = []
    for i, a in enumerate(a_list):
        for j, b in enumerate(b_list):
            dx, dy = b[0] - a[0], b[1] - a[1]
            norm = math.sqrt(dx * dx + dy * dy)
            if norm == 0:
                continue
            dx, dy = dx / norm, dy / norm
            xs = torch.linspace(a[0], b[0], points).round().long()
            ys = torch.linspace(a[1], b[1], points).round().long()
            along = pafs[0, ys, xs] * dx + pafs[1, ys, xs] * dy
            good = along > min_score
            ratio = good.sum().item() / points
            score = (along[good].sum() / good.sum()).item() if good.any() else 0.0
            if score > 0 and ratio > min_ratio:
                out.append([i, j, score, score + a[2] + b[2]])
    out = sorted(out, key=lambda x: x[2], reverse=True)
    used_a, used_b, chosen = set(), set(), []
    for i, j, score, _ in out:
        if i not in used_a and j not in used_b:
            chosen.append((a_list[i][3], b_list[j][3], score))
            used_a.add(i)
            used_b.add(j)
            if len(chosen) == min(len(a_list), len(b_list)):
                break
    return chosen


class PoseNet(nn.Module):
    def __init__(self, parts=5):
        super().__init__()
        self.parts = parts
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU())
        self.heat = nn.Conv2d(16, parts, 1)
        self.paf = nn.Conv2d(16, 2 * len(LIMBS), 1)

    def group(self, all_keypoints, pafs):
        entries = []
        flat = [p for part in all_keypoints for p in part]
        for part, (a, b) in enumerate(LIMBS):
            found = connections(pafs[PAIRS[part]], all_keypoints[a], all_keypoints[b])
            if not found:
                continue
            if part == 0:
                entries = []
                for ka, kb, score in found:
                    entry = [-1.0] * (self.parts + 2)
                    entry[a], entry[b] = ka, kb
                    entry[-1] = 2
                    entry[-2] = flat[ka][2] + flat[kb][2] + score
                    entries.append(entry)
            else:
                for ka, kb, score in found:
                    num = 0
                    for entry in entries:
                        if entry[a] == ka:
                            entry[b] = kb
                            num += 1
                            entry[-1] += 1
                            entry[-2] += flat[kb][2] + score
                    if num == 0:
                        entry = [-1.0] * (self.parts + 2)
                        entry[a], entry[b] = ka, kb
                        entry[-1] = 2
                        entry[-2] = flat[ka][2] + flat[kb][2] + score
                        entries.append(entry)
        kept = [e for e in entries if e[-1] >= 2 and e[-2] / e[-1] > 0.1]
        return kept, flat

    def forward(self, image, threshold=0.0):
        f = self.body(image)
        heat = torch.sigmoid(self.heat(f))[0]
        pafs = torch.tanh(self.paf(f))[0]
        total, all_keypoints = 0, []
        for part in range(self.parts):
            total += extract_keypoints(heat[part] - threshold, all_keypoints, total)
        if total == 0:
            return torch.zeros(0, self.parts, 2), []
        people, flat = self.group(all_keypoints, pafs)
        out = torch.full((len(people), self.parts, 2), -1.0)
        for n, person in enumerate(people):
            for k in range(self.parts):
                if person[k] != -1.0:
                    x, y, *_ = flat[int(person[k])]
                    out[n, k] = torch.tensor([x, y], dtype=torch.float32)
        return out, [p[-2] for p in people]


def make_model():
    torch.manual_seed(21)
    m = PoseNet().eval()
    with torch.no_grad():
        m.heat.weight.mul_(6); m.paf.weight.mul_(6)
    return m


def make_inputs():
    g = torch.Generator().manual_seed(22)
    return [(torch.randn(1, 3, 10, 12, generator=g),), (torch.randn(1, 3, 6, 6, generator=g) * 2, 0.2), (torch.randn(1, 3, 8, 8, generator=g), 1.0)]
