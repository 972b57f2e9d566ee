(** The check of a line's certificate, as a function on integers: what `check` of tools/check_certificate.py does. *)

From Coq Require Import ZArith QArith Qabs List Bool.
From Duotone Require Import Table Margin.
Import ListNotations.
Open Scope Z_scope.

(** What was asked of the boundary: the best balanced value, one value, or that an empty group is never shown. *)
Inductive boundary := Balanced | Value (m : Q) | Selection.

(** How many there are, as an integer. *)
Definition many {A} (l : list A) : Z := fold_left (fun n _ => n + 1) l 0.

(** What rounding may cost is 1 / LOSS; a claimed error is right to 1 / 2^50 of itself and 1 / SMALLEST (RELATIVE is their
    quotient). *)
Definition LOSS := 2 ^ 60.
Definition SMALLEST := 2 ^ 1070.
Definition RELATIVE := 2 ^ 1020.

(** What a line's table keeps to: a definition smaller by a hair, `shrunk` in the code. What rounding moves fits into the hair,
    so that the margin is private by the definition itself. *)
Definition shrunk (bits : Z) (y d : Q) : Q * Q :=
  if Zpos (Qden d) <=? Qnum d * 2 ^ (bits / 2)
  then (y, (d - (1 # Z.to_pos (2 ^ (3 * bits / 4))))%Q)
  else ((y - (y - 1) * (1 # 2 ^ 96))%Q, 0%Q).

(** The largest balanced value, rounded up: (above + most) / (1 + above). *)
Definition balanced_top (one : Z) (above most : Q) : Z :=
  up ((Qnum above * Zpos (Qden most) + Qnum most * Zpos (Qden above)) * one)
     (Zpos (Qden most) * (Zpos (Qden above) + Qnum above)).

Section Check.
(** ONE; what may stand beside each other; how high an entry next to one that is at most so high; and a balanced value, by the
    largest one that may stand there. The last two are of all that is private, in real numbers. *)
Variables (one : Z) (may : Z -> Z -> bool) (rise balanced : Z -> Z).

(** Rounding costs less than 2^-60. *)
Definition close (top t : Z) : bool := top - t <? one / LOSS.

(** The claimed probability of a wrong answer is that of the table, to 50 bits. *)
Definition honest (claimed : Q) (t : Z) : bool :=
  Z.abs (Qnum claimed * one - (one - t) * Zpos (Qden claimed)) * SMALLEST <=?
  Zpos (Qden claimed) * ((one - t) * RELATIVE + one).

Definition best_balanced (t : Z) : bool :=
  may t (one - t) && ((t =? one) || negb (may (t + 1) (one - t - 1))).

Definition floor_of (m : Q) : Z := Qnum m * one / Zpos (Qden m).
Definition ceiling_of (m : Q) : Z := up (Qnum m * one) (Zpos (Qden m)).

(** A boundary entry is the value asked for, rounded down or [held] lower; gives a bound on the real one. *)
Definition fixed_value (b : boundary) (t : Z) (held : option Z) : option Z :=
  match b with
  | Balanced => if best_balanced t && close (balanced t) t then Some (balanced t) else None
  | Value m => if (0 <=? Qnum m) && (Qnum m <=? Zpos (Qden m)) && close (ceiling_of m) t &&
                  match held with None => t =? floor_of m | Some h => (t =? h) && (h <=? floor_of m) end
               then Some (ceiling_of m) else None
  | Selection => None
  end.

(** From the boundary outwards: each entry is as large as what the table keeps to allows beside the one before, and near [top];
    gives what [top] has come to. *)
Fixpoint side (here : Z) (rest : list Z) (top : Z) : option Z :=
  if close top here then
    match rest with
    | [] => Some top
    | beyond :: rest => if tight one may beyond here then side beyond rest (rise top) else None
    end
  else None.

(** So many entries further out; beyond the end the last one stays. *)
Fixpoint further (n : Z) (here : Z) (rest : list Z) : Z :=
  match rest with t :: rest => if 0 <? n then further (n - 1) t rest else here | [] => here end.

(** Further levels are answered as the last of so many is; it is near all that [top] may still come to. *)
Definition checked_side (reach : Z) (here : Z) (rest : list Z) (top : Z) : bool :=
  match side here rest top with
  | Some last => close (if rise last =? last then last else one) (further (reach - 1) here rest)
  | None => false
  end.

Fixpoint all_honest (claimed : list Q) (entries : list Z) : bool :=
  match claimed, entries with
  | [], [] => true
  | c :: claimed, t :: entries => honest c t && all_honest claimed entries
  | _, _ => false
  end.

Definition in_range (entries : list Z) : bool := forallb (fun t => (0 <=? t) && (t <=? one)) entries.

(** Bounds on the two boundary values of every private mechanism with what was asked; None where the entries are not these. *)
Definition tops (b : boundary) (blue red : Z) : option (Z * Z) :=
  match b with
  | Selection => if (red =? one) && tight one may blue 0 then Some (rise 0, one) else None
  | Balanced => if red =? blue then option_map (fun top => (top, top)) (fixed_value b blue None) else None
  | Value _ => if tight one may red (one - blue)
               then option_map (fun top => (top, rise (one - blue))) (fixed_value b blue None) else None
  end.

(** Both sides, from the boundary on; levels from [reach] on are answered alike. *)
Definition check_sides (reach : Z) (b : boundary) (blue red : list Z) (blue_error red_error : list Q) : bool :=
  match blue, red with
  | b0 :: blues, r0 :: reds =>
      in_range blue && in_range red && all_honest blue_error blue && all_honest red_error red &&
      match tops b b0 r0 with
      | Some (blue_top, red_top) => checked_side reach b0 blues blue_top && checked_side reach r0 reds red_top
      | None => false
      end
  | _, _ => false
  end.

End Check.

(** Both sides as one list from the lowest level on, and that level. *)
Definition line_entries (one : Z) (blue red : list Z) : list Z := rev_append (map (fun t => one - t) red) blue.
Definition line_lowest (red : list Z) : Z := - Z.of_nat (length red).

(** Both ends are certain, and so the noise has ends; or it goes on. *)
Definition bounded (one : Z) (blue red : list Z) : bool := (last red 0 =? one) && (last blue 0 =? one).

(** Noise with ends is private over all events, and levels are clipped beyond the table, if at all. Noise without is so without
    delta, and of it there is a row for all that clipped levels and their clamped margins can need. *)
Definition check_margin (one : Z) (y d : Q) (cap : option Z) (blue red : list Z) : bool :=
  let entries := line_entries one blue red in
  if bounded one blue red
  then match cap with Some cap => (many red <=? cap) && (many blue <=? cap) | None => true end &&
       margin_is_private one y d entries
  else match cap with
       | Some cap => (1 <=? cap) && (many red =? 2 * cap - 1) && (many blue =? 2 * cap - 1) && margin_is_private one y 0 entries
       | None => false
       end.

(** How many people it takes at most until levels are answered alike. *)
Definition reach (cap : option Z) (blue red : list Z) : Z :=
  match cap with Some cap => cap | None => Z.max (many blue) (many red) end.

Definition check_line (one : Z) (y above d : Q) (small : Q * Q) (cap : option Z) (b : boundary) (blue red : list Z)
    (blue_error red_error : list Q) : bool :=
  check_margin one y d cap blue red &&
  check_sides one (allowed one (fst small) (snd small)) (ceiling one above d) (fun _ => balanced_top one above d)
              (reach cap blue red) b blue red blue_error red_error.
