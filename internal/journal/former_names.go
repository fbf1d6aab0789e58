package journal

import (
	"cmp"
	"encoding/json"
	"time"
)

// UnmarshalJSON also accepts the field names of version 0.1.0, which events and journals of that
// version have.
func (d *Displacement) UnmarshalJSON(data []byte) error {
	type current Displacement
	in := struct {
		*current
		By         string     `json:"by"`
		For        *Pod       `json:"for"`
		Afterwards bool       `json:"afterwards"`
		Gone       *time.Time `json:"gone"`
	}{current: (*current)(d)}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	d.RequestedBy, d.Preemptor, d.Deleted = cmp.Or(d.RequestedBy, in.By), cmp.Or(d.Preemptor, in.For), cmp.Or(d.Deleted, in.Gone)
	d.Reconstructed = d.Reconstructed || in.Afterwards
	return nil
}

// UnmarshalJSON also accepts the field names of version 0.1.0.
func (d *Decision) UnmarshalJSON(data []byte) error {
	type current Decision
	in := struct {
		*current
		What  string   `json:"what"`
		Rules []string `json:"rules"`
		Why   string   `json:"why"`
	}{current: (*current)(d)}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	d.Action, d.Reason = cmp.Or(d.Action, in.What), cmp.Or(d.Reason, in.Why)
	if len(d.Plugins) == 0 {
		d.Plugins = in.Rules
	}
	return nil
}
