package validation

import (
	"encoding/json"
	"fmt"
)

// jsonDiff shows two values under each other, as JSON. Its form is no promise to clients.
func jsonDiff(before, now any) string {
	return fmt.Sprintf("old: %s\nnew: %s", asJSON(before), asJSON(now))
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%+v", value)
	}
	return string(text)
}
