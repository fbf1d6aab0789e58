package quantities

import "google.golang.org/protobuf/encoding/protowire"

// checkProtobuf checks the quantities of a protobuf message.
func checkProtobuf(data []byte, n *node) error {
	for len(data) > 0 {
		number, wireType, size := protowire.ConsumeTag(data)
		if size < 0 {
			return errMalformed
		}
		data = data[size:]
		if wireType != protowire.BytesType {
			if size = protowire.ConsumeFieldValue(number, wireType, data); size < 0 {
				return errMalformed
			}
			data = data[size:]
			continue
		}
		value, size := protowire.ConsumeBytes(data)
		if size < 0 {
			return errMalformed
		}
		data = data[size:]
		if err := checkProtobufField(int(number), value, n); err != nil {
			return err
		}
	}
	return nil
}

func checkProtobufField(number int, value []byte, n *node) error {
	if n.quantity {
		if number != 1 {
			return nil
		}
		if err := CheckText(string(value)); err != nil {
			return &Error{Err: err}
		}
		return nil
	}
	child := n.byNumber[number]
	switch {
	case child == nil:
		return nil
	case child.isMap: // the entry of a map has the value in field 2
		return checkProtobuf(value, &node{byNumber: map[int]*node{2: child.element}})
	case child.element != nil:
		return checkProtobuf(value, child.element)
	}
	return checkProtobuf(value, child)
}
