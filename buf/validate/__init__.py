"""Import path of the validation rules that the protos use; see ``buf.validate.validate_pb2``."""
