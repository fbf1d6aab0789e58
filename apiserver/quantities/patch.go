package quantities

import (
	"encoding/json"
	"fmt"
	"strings"
)

// checkPatch checks the values of a JSON patch. A patch must not copy a quantity from a field of another type, and must
// not change the kind.
func checkPatch(data []byte, n *node) error {
	var operations []map[string]json.RawMessage
	if json.Unmarshal(data, &operations) != nil {
		return nil // the patch handler reports it
	}
	for i, operation := range operations {
		text := func(name string) (out string) {
			_ = json.Unmarshal(operation[name], &out) // as above
			return out
		}
		op, path := text("op"), text("path")
		target := n.at(path)
		err := checkJSON(operation["value"], target)
		switch {
		case op == "test":
			continue
		case path == "" || path == "/kind" || path == "/apiVersion":
			err = &Error{Err: fmt.Errorf("path %q: a patch must not replace the kind of an object", path)}
		case (op == "copy" || op == "move") && target != nil && !n.at(text("from")).sameType(target):
			err = &Error{Err: fmt.Errorf("from %q: a quantity must be copied from a field of the same type", text("from"))}
		}
		if err != nil {
			return fmt.Errorf("operation %d of the patch: %w", i, err)
		}
	}
	return nil
}

// at returns the node of a JSON pointer.
func (n *node) at(pointer string) *node {
	if pointer == "" {
		return n
	}
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		n = n.child(strings.NewReplacer("~1", "/", "~0", "~").Replace(key))
	}
	return n
}
