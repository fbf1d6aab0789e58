// Package quantities refuses requests with quantities that would take very long to parse, compare or format: Kubernetes'
// resource.Quantity needs seconds for "12345678901234567890e100000", and longer for larger exponents.
//
// A Checker walks the body of a request along the Go type of the object, before the body is decoded. It checks the text
// of each field of the type Quantity. Strings of other fields are not restricted. To save time, a Checker does not walk
// JSON in which no word or number exceeds the limits. It walks JSON patches along their paths. Custom resources have no
// fields of the type.
package quantities
