(** The check as OCaml. The mappings are those of Coq's own library: Z is zarith's integer, a string is OCaml's. *)

From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNativeString ExtrOcamlZBigInt.
From Duotone Require Import ReadCertificate WhichCheck.

Extraction "checked.ml" check which.
