package explain

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berthproject/berth/engine/decision"
)

// ReasonText formats a reason with its numbers.
func ReasonText(r *decision.Reason) string {
	switch r.Kind {
	case decision.ReasonInsufficient:
		return insufficientText(r)
	case decision.ReasonAvoidHold:
		return fmt.Sprintf("avoided: owner's pods displaced for %s: %d (hold %s)", r.Subject, r.Have, r.Object)
	case decision.ReasonTooManyPods:
		return fmt.Sprintf("runs %d pods of %d", r.Used, r.Have)
	case decision.ReasonTopologySpread:
		return fmt.Sprintf("%s: %d matching pods with this one, the minimum is %d, maxSkew %d", r.Subject, r.Used, r.Have, r.Want)
	}
	text := r.String()
	if r.Subject != "" && r.Kind != decision.ReasonText && !strings.HasSuffix(text, r.Subject) {
		text += " (" + r.Subject + ")"
	}
	if r.Object != "" {
		text += " because of " + r.Object
	}
	return text
}

// insufficientText formats a resource shortage.
func insufficientText(r *decision.Reason) string {
	free := r.Have - r.Used
	if r.Want > r.Have {
		return fmt.Sprintf("%s can never fit: requests %s, the node has %s in all", r.Subject, FormatQuantity(r.Subject, r.Want), FormatQuantity(r.Subject, r.Have))
	}
	return fmt.Sprintf("needs %s more %s (requests %s, free %s)",
		FormatQuantity(r.Subject, r.Want-free), r.Subject, FormatQuantity(r.Subject, r.Want), FormatQuantity(r.Subject, free))
}

// FormatQuantity formats an amount of a resource as a Kubernetes quantity. cpu is in
// thousandths, memory and storage are in bytes.
func FormatQuantity(resource string, n int64) string {
	switch {
	case resource == "cpu":
		if n%1000 == 0 {
			return strconv.FormatInt(n/1000, 10)
		}
		return strconv.FormatInt(n, 10) + "m"
	case resource == "memory" || resource == "ephemeral-storage" || strings.HasPrefix(resource, "hugepages-"):
		return formatBytes(n)
	}
	return strconv.FormatInt(n, 10)
}

// formatBytes formats bytes exactly if a binary unit divides them, otherwise with one
// decimal.
func formatBytes(n int64) string {
	units := []string{"", "Ki", "Mi", "Gi", "Ti", "Pi"}
	u, unit := 0, int64(1)
	for u < len(units)-1 && (n >= unit<<10 || n <= -(unit<<10)) {
		u, unit = u+1, unit<<10
	}
	if n%unit == 0 {
		return strconv.FormatInt(n/unit, 10) + units[u]
	}
	return strconv.FormatFloat(float64(n)/float64(unit), 'f', 1, 64) + units[u]
}

// shortage returns the largest missing fraction of a requested resource, as a measure of how far a verdict is from
// success. It returns 0 for a verdict without numbers, and 2 if the node can never satisfy a request.
func shortage(v *decision.Verdict) float64 {
	largest := 0.0
	for i := range v.Reasons {
		r := &v.Reasons[i]
		if r.Kind != decision.ReasonInsufficient || r.Want == 0 {
			continue
		}
		if r.Want > r.Have {
			return 2
		}
		largest = max(largest, float64(r.Want-(r.Have-r.Used))/float64(r.Want))
	}
	return largest
}
