package quantities

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// maxDepth is the depth at which Kubernetes' decoder refuses JSON.
const maxDepth = 10_000

// CheckJSON returns an error if a quantity in the JSON of a value of type t exceeds the limits. It ignores the case of
// names, as encoding/json does.
func CheckJSON(data []byte, t reflect.Type) error {
	return walkJSON(data, nodeOf(t), (*node).childIgnoringCase)
}

// checkJSON checks the quantities of a JSON value. Syntax errors pass, because the decoder reports them.
func checkJSON(data []byte, n *node) error { return walkJSON(data, n, (*node).child) }

func walkJSON(data []byte, n *node, child func(*node, string) *node) error {
	if n == nil {
		return nil
	}
	w := jsonWalk{decoder: json.NewDecoder(bytes.NewReader(data)), child: child}
	w.decoder.UseNumber()
	var refused *Error
	if err := w.value(n, 0); errors.As(err, &refused) {
		return refused
	}
	return nil
}

type jsonWalk struct {
	decoder *json.Decoder
	child   func(n *node, key string) *node
	path    []string
}

func (w *jsonWalk) value(n *node, depth int) error {
	if n == nil {
		var skipped json.RawMessage
		return w.decoder.Decode(&skipped)
	}
	token, err := w.decoder.Token()
	if err != nil {
		return err
	}
	text := ""
	switch v := token.(type) {
	case json.Delim:
		return w.children(n, v, depth+1)
	case string:
		text = v
	case json.Number:
		text = v.String()
	}
	if !n.quantity {
		return nil
	}
	if err := CheckText(text); err != nil {
		return &Error{Field: strings.Join(w.path, "."), Err: err}
	}
	return nil
}

// children walks an object or a list after its opening delimiter.
func (w *jsonWalk) children(n *node, open json.Delim, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	for i := 0; w.decoder.More(); i++ {
		key := strconv.Itoa(i)
		if open == '{' {
			token, err := w.decoder.Token()
			if err != nil {
				return err
			}
			key, _ = token.(string)
		}
		w.path = append(w.path, key)
		if err := w.value(w.child(n, key), depth); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	_, err := w.decoder.Token()
	return err
}
