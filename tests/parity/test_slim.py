"""A program without libtorch equals Python, and what cannot do without it is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch
from torch import nn

from slim_steps import Steps, build_user, examples, made
from torch2cpp import Refused
from torch2cpp.project import Project, transpile
from torch2cpp.toolchain.bundle import make_bundle

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Project:
    out = tmp_path_factory.mktemp("slim") / "steps"
    return transpile(made(Steps), examples(), runtime="slim", static=True, out=out, name="steps")


def test_program_has_no_libtorch(steps: Project) -> None:
    assert steps.check().ok
    runner = steps.build(python=False).runner
    assert "not a dynamic executable" in _output("ldd", str(runner))
    golden = subprocess.run([runner, "--golden", steps.folder / "golden"], check=False, capture_output=True)
    assert golden.returncode == 0, golden.stdout + golden.stderr
    assert runner.stat().st_size < 6_000_000


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_bundle_is_one_executable(steps: Project, tmp_path: Path) -> None:
    bundle = make_bundle(steps.folder, tmp_path / "bundle", "native")
    names = {name for name, _ in bundle.parts}
    assert names == {"steps_run", "verify", "weights.safetensors", "model.json", "golden"}
    assert "not a dynamic executable" in _output("ldd", str(bundle.folder / "verify"))
    moved = tmp_path / "device"
    bundle.folder.rename(moved)
    done = subprocess.run([moved / "verify"], cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "MB at most" in done.stdout


#: What goes wrong in the program is a null pointer and a text. Two threads have a model each.
_C_PROGRAM = """
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <steps/steps_c.h>

static const char* weights;

static steps_values* call(steps_model* model, float first) {
  const int64_t sizes[2] = {1, 8};
  const float x[8] = {first, 2, 3, 4, 5, 6, 7, 8};
  steps_values* in = steps_values_create();
  steps_values_set(in, "x", "float32", 2, sizes, x);
  steps_values* out = steps_call(model, "forward", in);
  steps_values_destroy(in);
  return out;
}

static void* fifty_calls(void* last) {
  steps_model* model = steps_create(weights);
  for (int i = 0; i < 50; ++i) {
    steps_values_destroy(*(steps_values**)last);
    *(steps_values**)last = call(model, (float)(49 - i));
  }
  steps_destroy(model);
  return NULL;
}

static void print(steps_values* values) {
  const char* dtype;
  const int64_t* sizes;
  const void* data;
  int64_t rank;
  steps_values_get(values, "out.0", &dtype, &rank, &sizes, &data);
  printf("%s %d", dtype, (int)rank);
  for (int64_t i = 0; i < sizes[0] * sizes[1]; ++i) {
    printf(" %.9g", ((const float*)data)[i]);
  }
  steps_values_get(values, "out.1", &dtype, &rank, &sizes, &data);
  printf(" %s %" PRId64 "\\n", dtype, *(const int64_t*)data);
}

static void error(int failed) { printf("%s\\n", failed ? steps_last_error() : "no error"); }

int main(int argc, char** argv) {
  weights = argc > 1 ? argv[1] : NULL;
  steps_values* last[2] = {NULL, NULL};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    pthread_create(&threads[i], NULL, fifty_calls, &last[i]);
  }
  for (int i = 0; i < 2; ++i) {
    pthread_join(threads[i], NULL);
    print(last[i]);
    steps_values_destroy(last[i]);
  }

  const int64_t sizes[2] = {1, 8}, wrong[2] = {-1, 8};
  const int64_t whole[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  steps_model* model = steps_create(weights);
  steps_values* in = steps_values_create();
  error(steps_call(model, "forward", in) == NULL);
  error(steps_values_set(in, "x", "int64", 2, sizes, whole) == 0);
  error(steps_call(model, "forward", in) == NULL);
  error(steps_call(model, "backward", in) == NULL);
  error(steps_call(NULL, "forward", in) == NULL);
  error(steps_call(model, NULL, in) == NULL);
  error(steps_call(model, "forward", NULL) == NULL);
  error(steps_values_set(in, "x", "int64", 2, sizes, NULL) == 0);
  error(steps_values_set(in, "x", "int64", 2, wrong, whole) == 0);
  error(steps_values_set(in, "x", "int65", 2, sizes, whole) == 0);
  error(steps_values_set(in, "x", "int64", -1, sizes, whole) == 0);
  error(steps_values_set_text(in, "x", NULL) == 0);
  error(steps_create("nowhere.safetensors") == NULL);
  printf("%d\\n", (int)steps_values_count(NULL));
  steps_values_destroy(in);
  steps_destroy(model);
  return 0;
}
"""
_C_ERRORS = """input 'x': expected a tensor, got nothing
no error
input 'x': expected float32 [?, 8], got int64 [1, 8]
input 'entry': expected one of the entries, got backward
model is a null pointer
entry is a null pointer
inputs is a null pointer
data is a null pointer
input 'sizes': expected sizes of a tensor, got -1
input 'dtype': expected a dtype of PyTorch, got int65
rank is not between 0 and 64
text is a null pointer
"""
#: Functions that ask for the environment or the locale, or end the program.
_NOT_CALLED = {"getenv", "secure_getenv", "setlocale", "newlocale", "strtod", "strtof", "abort", "exit", "_exit"}
#: What prints numbers as the locale has them; std::to_string of a float is one.
_NOT_CALLED |= {"printf", "snprintf", "sprintf", "vsnprintf", "vsprintf"}


def test_c_program(steps: Project, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(_C_PROGRAM)
    lines = """add_executable(user main.c)
target_link_libraries(user PRIVATE steps::steps_c)
set_target_properties(user PROPERTIES LINKER_LANGUAGE CXX)
"""
    user = build_user(tmp_path, steps.folder, lines, ["-DSTEPS_C_API=ON"])
    command = [str(user), str(steps.folder / "weights.safetensors")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={})
    first, second, errors = done.stdout.split("\n", 2)
    assert first == second
    dtype, rank, *numbers, of_step, step = first.split()
    want, at = made(Steps)(torch.tensor([[0.0, 2, 3, 4, 5, 6, 7, 8]]))
    torch.testing.assert_close(torch.tensor([[*map(float, numbers)]]), want.detach(), rtol=1e-4, atol=1e-5)
    assert (dtype, rank, of_step, int(step)) == ("float32", "2", "int64", at)
    head, nowhere, nothing = errors[: len(_C_ERRORS)], *errors[len(_C_ERRORS) :].splitlines()
    assert head == _C_ERRORS
    assert "nowhere.safetensors" in nowhere
    assert nothing == "0"
    library = [p for p in (tmp_path / "build/steps").rglob("*.o") if "runner" not in p.parts and "_run" not in str(p)]
    assert library
    called = {line.split()[-1] for line in _output("nm", "-u", *map(str, library)).splitlines() if line.strip()}
    assert not called & _NOT_CALLED


class Noisy(nn.Module):
    """Draws random numbers until they have added up."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        steps = 0
        while x.abs().mean() < 3 and steps < 5:
            x = x + torch.randn_like(x) * 2
            steps += 1
        return x * torch.bernoulli(torch.rand(2, 20)), steps


def test_random_numbers_are_pythons(tmp_path: Path) -> None:
    torch.manual_seed(0)
    inputs = [(torch.randn(2, 20) * scale,) for scale in (1.0, 9.0)]
    project = transpile(Noisy(), inputs, runtime="slim", out=tmp_path / "noisy", name="noisy")
    assert project.check().ok
    program = project.load()
    torch.manual_seed(3)
    got = [program(inputs[0][0]), torch.rand(3)]
    torch.manual_seed(3)
    want = [Noisy()(inputs[0][0]), torch.rand(3)]
    torch.testing.assert_close(got, want)


class Spectrum(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.fft.rfft(x).abs()


def test_what_is_lacking_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="T2C340") as refused:
        transpile(Spectrum(), [(torch.randn(8),)], runtime="slim", out=tmp_path, name="spectrum")
    assert "test_slim.py" in str(refused.value)
    assert "--runtime libtorch" in str(refused.value)
