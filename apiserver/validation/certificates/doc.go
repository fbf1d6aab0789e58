// Package certificates prepares and validates CertificateSigningRequests.
package certificates
