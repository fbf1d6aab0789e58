package checks

import (
	"encoding/json"
	"fmt"
)

// JSONDiff returns the JSON of both values. The format is not part of the API.
func JSONDiff(before, now any) string {
	return fmt.Sprintf("old: %s\nnew: %s", asJSON(before), asJSON(now))
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%+v", value)
	}
	return string(text)
}
