"""What the two captioners share: soft attention and the LSTM decoder (Xu et al.: Show, Attend and Tell, ICML 2015).

Captions are given, as in training and scoring: the decoder says at each position how likely
each next word is. Rows are sorted by length, so that the batch shrinks as captions end.
"""

import torch
import torch.nn as nn
from calibration import settle_batch_norms, smooth_images

VOCABULARY = 3000
START, END, PAD = 1, 2, 0
LONGEST = 22


class Attention(nn.Module):
    def __init__(self, encoder_dim, decoder_dim, attention_dim):
        super().__init__()
        self.encoder_att = nn.Linear(encoder_dim, attention_dim)
        self.decoder_att = nn.Linear(decoder_dim, attention_dim)
        self.full_att = nn.Linear(attention_dim, 1)
        self.relu = nn.ReLU()
        self.softmax = nn.Softmax(dim=1)

    def forward(self, encoder_out, decoder_hidden):
        att1 = self.encoder_att(encoder_out)
        att2 = self.decoder_att(decoder_hidden)
        att = self.full_att(self.relu(att1 + att2.unsqueeze(1))).squeeze(2)
        alpha = self.softmax(att)
        attention_weighted_encoding = (encoder_out * alpha.unsqueeze(2)).sum(dim=1)
        return attention_weighted_encoding, alpha


class DecoderWithAttention(nn.Module):
    def __init__(self, encoder_dim, attention_dim=512, embed_dim=512, decoder_dim=512, vocab_size=VOCABULARY):
        super().__init__()
        self.vocab_size = vocab_size
        self.attention = Attention(encoder_dim, decoder_dim, attention_dim)
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.dropout = nn.Dropout(p=0.5)
        self.decode_step = nn.LSTMCell(embed_dim + encoder_dim, decoder_dim, bias=True)
        self.init_h = nn.Linear(encoder_dim, decoder_dim)
        self.init_c = nn.Linear(encoder_dim, decoder_dim)
        self.f_beta = nn.Linear(decoder_dim, encoder_dim)
        self.sigmoid = nn.Sigmoid()
        self.fc = nn.Linear(decoder_dim, vocab_size)
        self.init_weights()

    def init_weights(self):
        self.embedding.weight.data.uniform_(-0.1, 0.1)
        self.fc.bias.data.fill_(0)
        self.fc.weight.data.uniform_(-0.1, 0.1)

    def init_hidden_state(self, encoder_out):
        mean_encoder_out = encoder_out.mean(dim=1)
        h = self.init_h(mean_encoder_out)
        c = self.init_c(mean_encoder_out)
        return h, c

    def forward(self, encoder_out, encoded_captions, caption_lengths):
        batch_size = encoder_out.size(0)
        encoder_dim = encoder_out.size(-1)
        vocab_size = self.vocab_size

        # flatten the map: (batch, pixels, channels)
        encoder_out = encoder_out.view(batch_size, -1, encoder_dim)
        num_pixels = encoder_out.size(1)

        # longest caption first
        caption_lengths, sort_ind = caption_lengths.squeeze(1).sort(dim=0, descending=True)
        encoder_out = encoder_out[sort_ind]
        encoded_captions = encoded_captions[sort_ind]

        embeddings = self.embedding(encoded_captions)
        h, c = self.init_hidden_state(encoder_out)

        # nothing is said after the end word
        decode_lengths = (caption_lengths - 1).tolist()

        predictions = torch.zeros(batch_size, max(decode_lengths), vocab_size)
        alphas = torch.zeros(batch_size, max(decode_lengths), num_pixels)

        for t in range(max(decode_lengths)):
            batch_size_t = sum([l > t for l in decode_lengths])
            attention_weighted_encoding, alpha = self.attention(encoder_out[:batch_size_t], h[:batch_size_t])
            gate = self.sigmoid(self.f_beta(h[:batch_size_t]))
            attention_weighted_encoding = gate * attention_weighted_encoding
            h, c = self.decode_step(
                torch.cat([embeddings[:batch_size_t, t, :], attention_weighted_encoding], dim=1),
                (h[:batch_size_t], c[:batch_size_t]),
            )
            preds = self.fc(self.dropout(h))
            predictions[:batch_size_t, t, :] = preds
            alphas[:batch_size_t, t, :] = alpha

        return predictions, encoded_captions, decode_lengths, alphas, sort_ind


class Captioner(nn.Module):
    def __init__(self, encoder, encoder_dim, encoded_image_size=14):
        super().__init__()
        self.encoder = encoder
        self.adaptive_pool = nn.AdaptiveAvgPool2d((encoded_image_size, encoded_image_size))
        self.decoder = DecoderWithAttention(encoder_dim)

    def forward(self, images, encoded_captions, caption_lengths):
        out = self.adaptive_pool(self.encoder(images))
        out = out.permute(0, 2, 3, 1).contiguous()
        return self.decoder(out, encoded_captions, caption_lengths)


def calibrated(model, seed):
    """The model in eval mode, its encoder's batch norms settled on a few images."""
    images = smooth_images(8, 224, seed)
    settle_batch_norms(model.eval(), [lambda: model.encoder(images)])
    return model


def hundred_captions(seed):
    """A hundred (images, captions, lengths): mostly one image, sometimes two or three, 1 to 21 words."""
    g = torch.Generator().manual_seed(seed)
    inputs = []
    for i in range(100):
        batch = 1 if i % 5 else 2 + i % 2
        lengths = torch.randint(2, LONGEST + 1, (batch, 1), generator=g)
        captions = torch.randint(END + 1, VOCABULARY, (batch, LONGEST), generator=g)
        captions[:, 0] = START
        position = torch.arange(LONGEST)
        captions[position.expand(batch, -1) == lengths - 1] = END
        captions[position.expand(batch, -1) >= lengths] = PAD
        inputs.append((smooth_images(batch, 224, seed + i), captions, lengths))
    return inputs
