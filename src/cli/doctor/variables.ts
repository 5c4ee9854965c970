// Values of environment variables, as libfabric reads them.

/** What libfabric takes for a boolean: fi_param_get_bool. */
const BOOLEANS: Readonly<Record<string, boolean>> = {
  '0': false,
  false: false,
  no: false,
  off: false,
  '1': true,
  true: true,
  yes: true,
  on: true,
};

/** A boolean of libfabric's; undefined where a value is none. */
export const booleanOf = (value: string | undefined): boolean | undefined =>
  value === undefined ? undefined : BOOLEANS[value.toLowerCase()];

export const isOn = (value: string | undefined): boolean => booleanOf(value) === true;
export const isOff = (value: string | undefined): boolean => booleanOf(value) === false;
