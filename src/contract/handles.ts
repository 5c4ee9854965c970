declare const handleOf: unique symbol;

/** An opaque native object. The addon checks its type tag. */
export type Handle<Name extends string> = { readonly [handleOf]: Name };

export type NativeInfo = Handle<'Info'>;
