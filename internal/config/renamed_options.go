package config

import (
	"encoding/json"
	"fmt"
)

// renamedOptions maps the deprecated name of an option, by section, to the current name. Both are accepted.
var renamedOptions = map[string]map[string]string{
	"scheduler": {"viewMemoryMiB": "scoreCacheMemoryMiB"},
	"pressure":  {"countDying": "countTerminating"},
	"holds":     {"firstSeconds": "initialSeconds", "mostSeconds": "maxSeconds"},
}

// replaceRenamedOptions returns a BerthConfiguration with current names only. Malformed parts are returned unchanged.
func replaceRenamedOptions(document []byte) ([]byte, error) {
	var sections map[string]json.RawMessage
	if json.Unmarshal(document, &sections) != nil {
		return document, nil
	}
	changed := false
	for section, names := range renamedOptions {
		var options map[string]json.RawMessage
		if json.Unmarshal(sections[section], &options) != nil {
			continue
		}
		for formerName, name := range names {
			value, found := options[formerName]
			if !found {
				continue
			}
			if _, isSet := options[name]; isSet {
				return nil, fmt.Errorf("%[1]s.%[2]s: deprecated name of %[1]s.%[3]s, which is also set: use only %[1]s.%[3]s", section, formerName, name)
			}
			options[name] = value
			delete(options, formerName)
			changed = true
		}
		raw, err := json.Marshal(options)
		if err != nil {
			return nil, err
		}
		sections[section] = raw
	}
	if !changed {
		return document, nil
	}
	return json.Marshal(sections)
}
