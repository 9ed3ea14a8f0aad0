"""What a detector does after its network: decode, threshold, sort, suppress overlaps.

The number of boxes left after each step depends on the data and may be zero.
"""

import torch
import torch.nn as nn


def box_iou(box, boxes):
    """Intersection over union of one box (4,) with many (N, 4), corners x1 y1 x2 y2."""
    top_left = torch.max(box[:2], boxes[:, :2])
    bottom_right = torch.min(box[2:], boxes[:, 2:])
    size = (bottom_right - top_left).clamp(min=0)
    intersection = size[:, 0] * size[:, 1]
    area = (box[2] - box[0]) * (box[3] - box[1])
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return intersection / (area + areas - intersection)


def nms(boxes, scores, iou_threshold):
    order = torch.argsort(scores, descending=True)
    keep = []
    while order.numel() > 0:
        best = order[0]
        keep.append(best)
        if order.numel() == 1:
            break
        rest = order[1:]
        order = rest[box_iou(boxes[best], boxes[rest]) <= iou_threshold]
    return torch.stack(keep)


class DetectionPostProcess(nn.Module):
    def __init__(self, grid=6, stride=8, score_threshold=0.5, iou_threshold=0.3, max_detections=10):
        super().__init__()
        self.score_threshold = score_threshold
        self.iou_threshold = iou_threshold
        self.max_detections = max_detections
        y, x = torch.meshgrid(torch.arange(grid), torch.arange(grid), indexing="ij")
        centers = (torch.stack([x, y], dim=-1).reshape(-1, 2).float() + 0.5) * stride
        self.register_buffer("centers", centers)
        self.stride = stride

    def decode(self, deltas):
        centers = self.centers + deltas[:, :2] * self.stride
        half = deltas[:, 2:].exp() * self.stride / 2
        return torch.cat([centers - half, centers + half], dim=1)

    def forward(self, class_logits, deltas):
        """class_logits (cells, classes), deltas (cells, 4) -> boxes, scores and labels of what was found."""
        boxes = self.decode(deltas)
        scores = class_logits.sigmoid()
        found_boxes, found_scores, found_labels = [], [], []
        for label in range(scores.size(1)):
            mask = scores[:, label] > self.score_threshold
            if not mask.any():
                continue
            class_boxes = boxes[mask]
            class_scores = scores[mask, label]
            keep = nms(class_boxes, class_scores, self.iou_threshold)
            found_boxes.append(class_boxes[keep])
            found_scores.append(class_scores[keep])
            found_labels.append(torch.full_like(keep, label))
        if len(found_boxes) == 0:
            return boxes.new_zeros((0, 4)), scores.new_zeros((0,)), torch.zeros((0,), dtype=torch.long)
        boxes, scores, labels = torch.cat(found_boxes), torch.cat(found_scores), torch.cat(found_labels)
        if boxes.size(0) > self.max_detections:
            scores, top = scores.topk(self.max_detections)
            boxes, labels = boxes[top], labels[top]
        return boxes, scores, labels


def make_model():
    return DetectionPostProcess().eval()


def make_inputs():
    inputs = []
    for seed, shift in [(0, -1.0), (1, -1.5), (2, -8.0), (3, 1.5), (4, -2.2), (5, 0.0)]:
        g = torch.Generator().manual_seed(seed)
        logits = torch.randn(36, 3, generator=g) + shift
        deltas = torch.randn(36, 4, generator=g) * 0.5 + torch.tensor([0.0, 0.0, 1.0, 1.0])
        inputs.append((logits, deltas))
    one = torch.full((36, 3), -5.0)
    one[7, 1] = 3.0
    inputs.append((one, torch.zeros(36, 4)))
    return inputs
