(** Not in vain: a certificate that the package wrote, of the paper's balanced mechanism at (log 2, 0.1), is accepted; with one
    part of 2^128 more or less, with a larger ratio, with another claim, or with levels clipped within the table, it is not. *)

From Coq Require Import ZArith String List.
From Duotone Require Import ReadCertificate.
Import ListNotations.
Open Scope string_scope.

Definition example_with (ratio : string) (first second : string * string) (loss : string) (margin : bool) (cap : json) : json :=
  let row (numbers : string * string) error :=
    Object [("numbers", Items [Text (fst numbers); Text (snd numbers)]); ("error", Text error)] in
  let swapped (numbers : string * string) := (snd numbers, fst numbers) in
  let near := ("340282366920938463463374607428189072042", "3579139414") in
  let sure := ("340282366920938463463374607431768211456", "0") in
  let near_error := "1.0518145404905981e-29" in
  Object [("certificate", Text "duotone"); ("version", Integer 1);
          ("privacy", Object [("epsilon", Null); ("ratio", Text ratio); ("delta", Text "1/10")]);
          ("outcomes", Items [Text "yes"; Text "no"]); ("bits", Integer 128);
          ("claims", Object [("private", Truth true); ("optimal", Truth true); ("loss", Text loss); ("margin", Truth margin)]);
          ("boundary", Text "balanced"); ("cap", cap); ("lowest", Integer (-4));
          ("rows", Items [row (swapped sure) "0.0"; row (swapped near) near_error; row (swapped second) "0.1";
                          row (swapped first) "0.3"; row first "0.3"; row second "0.1"; row near near_error; row sure "0.0"])].

Definition example ratio first second loss := example_with ratio first second loss true (Integer 7).

Definition first := ("238197656844656924424362225200806092253", "102084710076281539039012382230962119203").
Definition second := ("306254130228844617117037146685728078779", "34028236692093846346337460746040132677").

Example accepted : check (example "2" first second "2^-60") = Some (Line, 8%Z) /\
  check (example_with "2" first second "2^-60" true Null) = Some (Line, 8%Z) /\
  check (example_with "2" first second "2^-60" true (Integer 4)) = Some (Line, 8%Z).
Proof. vm_compute; repeat split. Qed.

Example refused :
  check (example "2" ("238197656844656924424362225200806092254", "102084710076281539039012382230962119202")
    second "2^-60") = None /\
  check (example "2" first ("306254130228844617117037146685728078780",
    "34028236692093846346337460746040132676") "2^-60") = None /\
  check (example "2" first ("306254130228844617117037146685728078778",
    "34028236692093846346337460746040132678") "2^-60") = None /\
  check (example "2" first ("306254130228844617117037146685728078779",
    "34028236692093846346337460746040132676") "2^-60") = None /\
  check (example "201/100" first second "2^-60") = None /\ check (example "2" first second "2^-61") = None /\
  check (example_with "2" first second "2^-60" false (Integer 7)) = None /\
  check (example_with "2" first second "2^-60" true (Integer 3)) = None /\
  check (example_with "2" first second "2^-60" true (Text "7")) = None.
Proof. vm_compute; repeat split. Qed.
