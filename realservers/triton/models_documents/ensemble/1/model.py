"""The model vllm of the repository beside this one, under a name of the documents."""

import importlib.util
import pathlib

path = pathlib.Path(__file__).resolve().parents[3] / "models" / "vllm" / "1" / "model.py"
spec = importlib.util.spec_from_file_location("vllm_model", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
TritonPythonModel = module.TritonPythonModel
