package conversion

import "strings"

// ImageName is an image reference as kube-scheduler compares it: one without
// tag and digest gets ":latest".
func ImageName(ref string) string {
	if strings.LastIndex(ref, ":") <= strings.LastIndex(ref, "/") {
		return ref + ":latest"
	}
	return ref
}
