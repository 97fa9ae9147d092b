package events

import "net/netip"

// validAddress reports whether the text is an IP address, as in 10.0.0.7 or fd00::7. It refuses an address with a zone, and IPv4 written
// within IPv6: a line of a hosts file does not take them.
func validAddress(s string) bool {
	address, err := netip.ParseAddr(s)
	return err == nil && address.Zone() == "" && !address.Is4In6()
}
