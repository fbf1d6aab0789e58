// Package network has the defaulting, preparation, validation and warnings of Service, Endpoints and
// EndpointSlice.
package network
