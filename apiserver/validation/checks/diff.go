package checks

import (
	"encoding/json"
	"fmt"
)

// JSONDiff returns the JSON of both values. The format is not part of the API.
func JSONDiff(old, obj any) string {
	return fmt.Sprintf("old: %s\nnew: %s", asJSON(old), asJSON(obj))
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%+v", value)
	}
	return string(text)
}
