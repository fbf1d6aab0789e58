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
			_ = json.Unmarshal(operation[name], &out) // the patch handler reports it
			return out
		}
		op, path := text("op"), text("path")
		target := n.at(path)
		err := checkJSON(operation["value"], target)
		switch {
		case op == "test":
			continue
		case changesKind(path):
			err = &Error{Err: fmt.Errorf("path %.100q: a patch must not change the kind or the apiVersion of an object", path)}
		case (op == "copy" || op == "move") && target != nil && !n.at(text("from")).sameType(target):
			err = &Error{Err: fmt.Errorf("from %.100q: a quantity must be copied from a field of the same type", text("from"))}
		}
		if err != nil {
			return fmt.Errorf("operation %d of the patch: %w", i, err)
		}
	}
	return nil
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// changesKind reports whether an operation at a JSON pointer changes the kind or the apiVersion.
func changesKind(pointer string) bool {
	_, key, found := strings.Cut(pointer, "/")
	return !found || key == "kind" || key == "apiVersion"
}

// at returns the node of a JSON pointer. The decoder of patches ignores what precedes the first slash.
func (n *node) at(pointer string) *node {
	_, keys, found := strings.Cut(pointer, "/")
	if !found {
		return n
	}
	for key := range strings.SplitSeq(keys, "/") {
		if n = n.child(unescape.Replace(key)); n == nil {
			return nil
		}
	}
	return n
}
