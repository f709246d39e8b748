"""Writes all op schemas of the installed TensorFlow, without their texts, as a serialized OpList: opDefs.py OUTPUT."""
import sys

from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session as tf_session

buffer = tf_session.TF_GetAllOpList()
ops = op_def_pb2.OpList()
ops.ParseFromString(tf_session.TF_GetBuffer(buffer))
for op in ops.op:
    op.ClearField("summary")
    op.ClearField("description")
    for arg in list(op.input_arg) + list(op.output_arg):
        arg.ClearField("description")
        arg.ClearField("experimental_full_type")
    for attr in op.attr:
        attr.ClearField("description")
with open(sys.argv[1], "wb") as out:
    out.write(ops.SerializeToString())
