package pictures

import "testing"

func TestValuesAreToldAsGrafanaDoes(t *testing.T) {
	none := 0
	for _, c := range []struct {
		unit     string
		decimals *int
		value    float64
		want     string
	}{
		{"short", nil, 0, "0"},
		{"short", nil, 3, "3"},
		{"short", nil, 1.5, "1.50"},
		{"short", nil, 0.00042, "0.000420"},
		{"short", nil, 3e-9, "0.00000000300"},
		{"short", nil, 12345, "12.3 K"},
		{"short", nil, 7e6, "7 Mil"},
		{"short", nil, -12.34, "-12.3"},
		{"short", &none, 2.7, "3"},
		{"s", nil, 0, "0 s"},
		{"s", nil, 0.0000004, "400 ns"},
		{"s", nil, 0.00042, "420 µs"},
		{"s", nil, 0.0123, "12.3 ms"},
		{"s", nil, 4.2, "4.20 s"},
		{"s", nil, 90, "1.50 min"},
		{"s", nil, 7200, "2 hour"},
		{"s", nil, 3 * day, "3 day"},
		{"bytes", nil, 512, "512 B"},
		{"bytes", nil, 1536, "1.50 KiB"},
		{"bytes", nil, 3 << 30, "3 GiB"},
		{"Bps", nil, 1536, "1.54 kB/s"},
		{"percentunit", nil, 0.5, "50%"},
		{"percentunit", nil, 0.0042, "0.420%"},
		{"ops", nil, 0.25, "0.250 ops/s"},
		{"ops", nil, 1200, "1.20K ops/s"},
	} {
		if got := tell(c.unit, c.decimals, c.value); got != c.want {
			t.Errorf("%g in %s is %q, not %q", c.value, c.unit, got, c.want)
		}
	}
}
