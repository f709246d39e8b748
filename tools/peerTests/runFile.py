"""Runs the peer runner after telling Python where helpers are that tests import but the wheel does not have.

    python runFile.py RUNNER TARGET SOURCES FILE [--limit SECONDS]
"""
import importlib
import os
import runpy
import sys

FOLDERS = ["summary/writer", "kernel_tests/data_structures"]

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
runner, sources = sys.argv[1], os.path.abspath(sys.argv[3])
for folder in FOLDERS:
    try:
        package = importlib.import_module("tensorflow.python." + folder.replace("/", "."))
    except ImportError:
        continue
    package.__path__.append(os.path.join(sources, "tensorflow/python", folder))
sys.argv = sys.argv[1:]
runpy.run_path(runner, run_name="__main__")
