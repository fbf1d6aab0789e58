package conversion

import "strings"

// ImageName returns an image reference as kube-scheduler compares it: without
// tag and digest it gets ":latest".
func ImageName(ref string) string {
	if strings.LastIndex(ref, ":") <= strings.LastIndex(ref, "/") {
		return ref + ":latest"
	}
	return ref
}
